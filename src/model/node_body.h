// The graphs that an If, a Loop or a Scan holds as attributes. Pure functions; any thread.
#pragma once

#include <deepgap/graph.h>

#include <string>

namespace deepgap {

// Throws Error{input} that names the node and its operator.
[[noreturn]] void fail_node(const Node& node, const std::string& cause);

bool has_body(const Node& node);  // one or more

// "body", "then_branch", "else_branch". Throws as above where it is not there.
const Graph& body_of(const Node& node, const char* attribute);

}  // namespace deepgap
