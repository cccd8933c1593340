// The tables of a Store, version 1, as docs/records.md describes them. Only for src/store.
#pragma once

#include "store/sqlite.h"

#include <memory>
#include <string>

namespace deepgap {

inline constexpr int64_t store_application_id = 0x64676170;  // "dgap": `file` and SQLite tools see it in the header
inline constexpr int64_t store_schema_version = 1;

// Opens an existing Store for reading, in a folder that cannot be written too. Throws Error{input}.
std::unique_ptr<Database> open_store_for_reading(const std::string& path);
// Opens a Store for appending, and makes the file and its tables where there are none. Throws Error{input}; later failures of the
// connection are Error{store}. A draft is not synced: a file that is given its name, and synced, when it is whole.
enum class Durability { each_commit, draft };
std::unique_ptr<Database> open_store_for_appending(const std::string& path, Durability durability = Durability::each_commit);

}  // namespace deepgap
