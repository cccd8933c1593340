// The shapes that schema 1 had on its first day. Only for src/store.
#pragma once

#include "store/sqlite.h"

namespace deepgap {

// Two early shapes put a Record's check, windows and facts, or its momentary facts, elsewhere than every later one. They cannot be read as
// they are.
bool is_early_shape(Database& database);
// Gives it the later one's. Inside a transaction of the caller.
void reshape(Database& database);

}  // namespace deepgap
