// GNMT's decoder and its beam search, as nodes of a Graph: one step at a time, so that the same nodes stand in the body of a Loop, one
// behind another, or alone for a host that drives them.
#pragma once

#include "model/zoo/network_builder.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace deepgap {

struct GnmtShape {
  int64_t hidden = 1024;
  int64_t vocabulary = 36'548;
  int64_t beams = 10;
  int64_t length = 28;  // tokens of a sentence at most, in and out
};
namespace gnmt {
inline constexpr int64_t begin = 1, end = 2;  // tokens; 0 is unknown
inline constexpr size_t layers = 4;
inline constexpr float least = -1e9f;  // the logarithm of a probability of nothing
}  // namespace gnmt

// The encoder's results for N sentences of S places.
struct GnmtMemory {
  ValueId states = no_value;  // [N, S, hidden]
  ValueId keys = no_value;    // [N, 1, S, hidden]
  ValueId mask = no_value;    // [N, 1, S], where a place holds a word
};

// The state between two steps, for N sentences with K beams each.
struct GnmtState {
  ValueId tokens = no_value;                   // [N * K], chosen last
  std::array<ValueId, gnmt::layers> h{}, c{};  // [N * K, hidden]
  ValueId context = no_value;                  // [N * K, hidden]
  ValueId scores = no_value;                   // [N, K], sums of logarithms
  ValueId lengths = no_value;                  // [N, K], words so far
  ValueId finished = no_value;                 // [N, K]
  ValueId words = no_value;                    // [N * K, S], all that were chosen

  std::vector<ValueId*> all();
};

class GnmtDecoder {
 public:
  // `net` outlives it. Makes the decoder's weights.
  GnmtDecoder(NetworkBuilder& net, const GnmtShape& shape);
  // Within the body of a Loop: reads weights and all else that `around` made by their names. Both builders outlive it.
  GnmtDecoder(NetworkBuilder& body, const GnmtDecoder& around);

  // Keys of attention from the encoder's states.
  ValueId keys(ValueId states);
  // The cells, with the attention over `memory` for `beams` rows a sentence. Returns the logarithms of the next words' probabilities,
  // [N * K, vocabulary]; `state` has h, c and context of after.
  ValueId cells(const std::string& name, GnmtState& state, const GnmtMemory& memory, int64_t beams);

  // The search begins with `sentences`, a shape of one number, N.
  GnmtState first_state(ValueId sentences);
  // A step of the search. `position`: how many steps went before, one number. `lengths` [N]: words that each answer has.
  void search(const std::string& name, GnmtState& state, const GnmtMemory& memory, ValueId position, ValueId lengths);
  // [N, K]: sums of logarithms, divided by the length penalty.
  ValueId answer_scores(const GnmtState& state);

  // A value of the network around a body, in the body; else itself.
  ValueId here(ValueId around);

 private:
  ValueId integers(const std::string& name, const std::vector<int64_t>& content);
  ValueId number(const std::string& name, float content);
  std::string setting(const std::string& name) const;
  ValueId own(const std::string& name);  // what the constructor made, by name
  ValueId cell(const std::string& name, size_t layer, ValueId input, GnmtState& state);
  ValueId attend(const std::string& name, ValueId query, const GnmtMemory& memory, int64_t beams);
  ValueId allowed(const std::string& name, ValueId log_probabilities, const GnmtState& state, ValueId at_end);
  ValueId penalty(const std::string& name, ValueId lengths);
  void make_shared();

  NetworkBuilder& net_;
  const GnmtDecoder* around_ = nullptr;
  GnmtShape shape_;
  std::map<std::string, ValueId> made_;
  std::map<ValueId, ValueId> here_;
};

}  // namespace deepgap
