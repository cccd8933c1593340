// What an integer input of a network may hold, told by what reads it: for seeded samples, and for seeded weights that are balanced on such.
#pragma once

#include <deepgap/graph.h>

#include <cstdint>
#include <map>
#include <string>

namespace deepgap {

// Of each integer input: it holds whole numbers from 0 up to this one, which is not among them. Where it chooses rows of a table (Gather)
// as many as there are rows, else 2: it is a mask.
std::map<std::string, int64_t> integer_values(const Graph& graph);

}  // namespace deepgap
