export default { id: "context-mode", server: ContextMode };
