// Measures how a Store grows: makes one of 100,000 Records and times what commands do with it. The export and the report of such a Store
// together are to take under 5 s (docs/design.md), so reading it all must take well under 2 s. Prints; gates nothing.
//     store_scale [records] [file to keep]
#include "base/temporary_folder.h"
#include "record/example_record.h"
#include "store/merge_stores.h"
#include "store/store.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <vector>

namespace deepgap {
namespace {

template <typename Work>
void timed(const char* what, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();  // on a machine that others use the wall's time says little
  work();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fmt::print("{:<34} {:8.3f} s {:8.3f} s of CPU\n", what, seconds.count(), static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
  std::fflush(stdout);
}

void fill(const std::string& path, uint64_t records) {
  constexpr uint64_t records_a_transaction = 1000;
  Store store(path, Store::Mode::append);
  std::vector<Record> batch;
  for (uint64_t seed = 0; seed < records; ++seed) {
    batch.push_back(example_record(seed, 20));
    if (batch.size() < records_a_transaction && seed + 1 < records) continue;
    store.append(batch);
    batch.clear();
  }
}

void measure(const std::string& path, uint64_t records, const TemporaryFolder& folder) {
  timed("fill, 1,000 a transaction", [&] { fill(path, records); });
  fmt::print("{:<34} {:8.1f} MB\n", "size", static_cast<double>(std::filesystem::file_size(path)) / 1e6);
  timed("append one, durable, x 50", [&] {
    Store store(path, Store::Mode::append);
    for (uint64_t i = 0; i < 50; ++i) store.append(example_record(records + i, 1000));
  });
  const Store store(path, Store::Mode::read);
  int64_t seen = 0;
  double sum = 0;
  for (int round = 0; round < 3; ++round) {
    timed("each (aim: well under 2 s)", [&] {
      store.each([&](Record&& record) {
        ++seen;
        sum += record.estimates.at("throughput").value;
      });
    });
  }
  timed("look", [&] { store.look([&](const Record& record) { sum += record.estimates.at("throughput").value; }); });
  timed("finished", [&] { seen += static_cast<int64_t>(store.finished().size()); });
  timed("timing_counts", [&] { seen += static_cast<int64_t>(store.timing_counts().size()); });
  timed("copy, compact and anonymous", [&] { copy_store(path, folder / "copy.db", {.compact = true, .anonymous = true}); });
  fmt::print("{:<34} {:8.1f} MB\n", "size of the copy", static_cast<double>(std::filesystem::file_size(folder / "copy.db")) / 1e6);
  timed("merge with the copy, each once", [&] {
    seen += merge_stores({{path}, {folder / "copy.db"}}, folder / "merged.db", {.once = Once::record})->written;
  });
  fmt::print("({} seen, {:.0f})\n", seen, sum);
}

}  // namespace
}  // namespace deepgap

int main(int argc, char** argv) {
  const uint64_t records = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  const deepgap::TemporaryFolder folder;
  deepgap::measure(argc > 2 ? argv[2] : folder / "scale.db", records, folder);
}
