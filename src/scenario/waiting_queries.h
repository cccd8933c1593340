// WaitingQueries: the queue of a Dispatcher: priority classes, in order of arrival within a class, cut into batches sample by sample.
//
// Not thread-safe. Keeps its room, so that nothing is allocated per query once warm.
#pragma once

#include <deepgap/target.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace deepgap {

// The query that goes when the queue is full. Either way it is one of the least urgent class, the new query's own included.
enum class Shedding {
  none,           // nobody: the Scenario holds further queries back
  reject_newest,  // the one that came last
  drop_oldest,    // the one that has waited longest, since its answer is worth least by now
};

// Samples [first, first+count) of a query, in a batch.
struct QueryPart {
  uint64_t query = 0;
  uint32_t first = 0;
  uint32_t count = 0;
};

class WaitingQueries {
 public:
  explicit WaitingQueries(int classes) : classes_(static_cast<size_t>(classes)) {}

  int64_t queries() const { return queries_; }
  int64_t samples() const { return samples_; }
  Nanoseconds oldest() const;  // arrival of the query that has waited longest; `never` when none waits

  void push(const Query& query, Nanoseconds now);
  // Takes the next `count` samples (at most samples()), most urgent class first. Appends to both.
  void cut(int64_t count, std::vector<QueryPart>& parts, std::vector<uint32_t>& samples);
  // Removes the one that `shedding` says must go for a new query of this class; nullopt: the new one itself. Once a query has begun, all of
  // it stays.
  std::optional<QueryPart> make_room(int priority, Shedding shedding);
  // Removes what is left of any query; nullopt when none waits.
  std::optional<QueryPart> pop();

 private:
  struct Waiting {
    QueryPart left;
    Nanoseconds arrived = 0;
  };
  struct Class {
    std::deque<Waiting> queries;
    std::deque<uint32_t> samples;  // samples of all queries, one after the other
  };
  Class& class_of(int priority);
  QueryPart remove(Class& from, size_t index);

  std::vector<Class> classes_;
  int64_t queries_ = 0, samples_ = 0;
};

}  // namespace deepgap
