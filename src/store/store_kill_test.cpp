// A process that appends is killed at random moments, inside the commit too: what append() returned for is there, nothing is there twice,
// and the next process goes on with the same file.
#include "store/store.h"

#include "base/temporary_folder.h"

#include "record/example_record.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <set>
#include <vector>

namespace deepgap {
namespace {

// Appends `first`, `first + 1`, ... and reports each number once append() returned; never ends by itself.
[[noreturn]] void append_for_ever(const std::string& path, uint64_t first, int tell) {
  try {
    Store store(path, Store::Mode::append);
    for (uint64_t seed = first;; ++seed) {
      store.append(example_record(seed, 50));
      if (::write(tell, &seed, sizeof(seed)) != static_cast<ssize_t>(sizeof(seed))) ::_exit(3);
    }
  } catch (...) {
    ::_exit(4);
  }
}

std::vector<uint64_t> read_told(int from) {
  std::vector<uint64_t> told;
  uint64_t seed = 0;
  while (::read(from, &seed, sizeof(seed)) == static_cast<ssize_t>(sizeof(seed))) told.push_back(seed);
  return told;
}

// Runs one life of an appending process; returns what it reported before the kill.
std::vector<uint64_t> append_and_kill(const std::string& path, uint64_t first, long after_us) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) append_for_ever(path, first, ends[1]);
  ::close(ends[1]);
  const timespec time{0, after_us * 1000};
  ::nanosleep(&time, nullptr);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));  // else it ended by an error of its own
  const auto told = read_told(ends[0]);
  ::close(ends[0]);
  return told;
}

TEST(StoreKill, NothingFinishedIsLostAndNothingDoubled) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.db";
  std::mt19937_64 random(7);
  std::set<std::string> promised;
  uint64_t next = 0;
  for (int life = 0; life < 50 || (next <= 20 && life < 200); ++life) {
    const uint64_t longest_us = life < 50 ? 60'000 : 600'000;  // on a busy machine most end before their first Record
    for (const uint64_t seed : append_and_kill(path, next, static_cast<long>(random() % longest_us)))
      promised.insert(example_record(seed).record_id);
    // The record in the making may have been committed though it was not reported: numbers go on beyond it.
    std::set<std::string> found;
    Store store(path, Store::Mode::append);
    store.each([&](Record&& record) {
      EXPECT_TRUE(found.insert(record.record_id).second);
      EXPECT_EQ(record.estimates.size(), 20u);
    });
    for (const std::string& id : promised) ASSERT_TRUE(found.count(id) == 1) << "lost in life " << life;
    ASSERT_LE(found.size(), promised.size() + 1);
    for (const std::string& id : found) EXPECT_EQ(store.timings(id).size(), 50u);
    promised = found;
    next = found.size();
  }
  EXPECT_GT(next, 20u);
}

}  // namespace
}  // namespace deepgap
