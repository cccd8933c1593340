// Compares the checks of outputs that the Records of Stores hold: `deepgap check A.db B.db`.
#pragma once

#include <string>
#include <vector>

namespace deepgap {

class Selection;

// Returns whether it is an SQLite file, by its first bytes; false if it cannot be read.
bool is_store_file(const std::string& path);

// Prints a line, or an object, for each Point on each device: its least exact check over all Records. Returns the exit code: 0 where
// every check that was made passed, 1 where one did not or none was made. Throws Error{input}, and Error{usage} where none is selected.
int print_stored_checks(const std::vector<std::string>& stores, const Selection& selection, bool json);

}  // namespace deepgap
