var word = "java";
System.out.println("hello from " + word);
