// An empty library: only its name, libtorch.so, is asked for.
