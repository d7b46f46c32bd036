(using_directive) @text
