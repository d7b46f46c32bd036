word = "python"
print(f"hello from {word}")
