// The numbers in a network that shape inference knows.
#pragma once

#include <deepgap/graph.h>

#include <map>

namespace deepgap {

// Infers shapes again, and gives the integers and flags that are known although not all that they are made of is: the height out of
// Shape(x) where x is [N,3,640,640]. Not those that are constants already.
std::map<ValueId, Tensor> known_contents(Graph& graph);

}  // namespace deepgap
