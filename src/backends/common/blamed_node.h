// Finds the node of the Graph that an engine's message is about.
#pragma once

#include <deepgap/graph.h>

#include <string>
#include <string_view>

namespace deepgap {

// The node that a message names by its operator and its own name, or its first output's; else the first of an operator that it names;
// nullptr when it names none.
const Node* blamed_node(const Graph& graph, std::string_view message);
std::string full_name(const Node& node);  // "Conv", "com.example.Mix"

}  // namespace deepgap
