// The suite's processes. An engine of others that ends its process in a test must neither end the suite nor be deepgap's fault unasked: the
// suite runs in a child, and again without the tests that were done when that died.
#pragma once

#include <string>
#include <vector>

namespace deepgap::conformance {

// Engines that deepgap only drives: known by name, since another plug-in's faults are its author's.
bool is_of_others(const std::string& backend);

// This program again with more arguments: what waitpid() says of it. It dies with this process.
int run_again(std::vector<std::string> arguments, const std::vector<std::string>& more);
// ... as an exit code, with a line for a death by signal.
int exit_code_of(const std::string& backend, int status);

// Runs the suite in a child (--inside), clears and keeps cases in FAULTS (empty: build/faults/BACKEND, or a folder in /tmp where that
// cannot be written), and says whose fault a crash is.
int supervise(const std::string& backend, const std::string& faults, const std::vector<std::string>& arguments);

// In the child: keeps cases there, and notes which tests were done.
void note_tests_in(const std::string& faults);

}  // namespace deepgap::conformance
