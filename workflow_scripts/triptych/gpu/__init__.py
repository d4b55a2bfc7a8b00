"""What a GPU does with the three studies: tests, benches and trainings, in parts of minutes."""
