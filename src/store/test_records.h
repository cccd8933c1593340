// Records of a Store, for tests.
#pragma once

#include "store/store.h"

#include <utility>
#include <vector>

namespace deepgap {

inline std::vector<Record> records_of(const Store& store) {
  std::vector<Record> records;
  store.each([&](Record&& record) { records.push_back(std::move(record)); });
  return records;
}

}  // namespace deepgap
