for (const name of NAMES) {
    const now = Object.getOwnPropertyDescriptor(globalThis, name);
    if (!now || !now.writable) Object.defineProperty(globalThis, name, {
        value: now && globalThis[name], writable: true, enumerable: true, configurable: true });
}
