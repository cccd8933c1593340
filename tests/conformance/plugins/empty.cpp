// A library that is there and holds nothing of what is looked for in it.
