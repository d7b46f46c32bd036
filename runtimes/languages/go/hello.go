word := "go"
fmt.Println("hello from", word)
