"""What a run did to repositories, carried to the host's by git itself."""
