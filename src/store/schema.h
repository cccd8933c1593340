// The tables of a Store as docs/reference/database.md describes them, and how an older Store gets those of today. Only for src/store.
#pragma once

#include "store/sqlite.h"

#include <memory>
#include <string>

namespace deepgap {

inline constexpr int64_t store_application_id = 0x64676170;  // "dgap": `file` and SQLite tools see it in the header
inline constexpr int64_t store_schema_version = 4;

// Opens an existing Store for reading, in a folder that cannot be written too; one whose tables cannot be read as they are is brought up to
// date in memory (store/migrate.h). Throws Error{input}.
std::unique_ptr<Database> open_store_for_reading(const std::string& path);
// Opens a Store for appending, and makes the file and its tables where there are none; those that an older version lacks are added. Throws
// Error{input}; later failures of the connection are Error{store}. A draft is not synced: a file that is given its name, and synced, when
// it is whole.
enum class Durability { each_commit, draft };
std::unique_ptr<Database> open_store_for_appending(const std::string& path, Durability durability = Durability::each_commit);

// Returns whether an opened Store has profiles, and annotations: Stores of version 1, and of 2, that are only read have no table for them.
bool keeps_profiles(Database& database);
bool keeps_annotations(Database& database);

// The verdict of a row of the table `records`, as SQL. Before version 4 runs that nobody asked an interval of were called valid: they are
// read as as_found.
std::string verdict_column(Database& database);

}  // namespace deepgap
