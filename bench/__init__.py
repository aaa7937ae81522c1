"""The benchmark kit: loads any server that speaks the plan protocol and prints the goals beside the numbers."""
