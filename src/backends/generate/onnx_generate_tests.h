// For tests of engines that generate tokens with ONNX decoders: a tiny one, its answers against the reference interpreter, which computes
// every token anew without a cache, and what is refused. INSTANTIATE_TYPED_TEST_SUITE_P runs them on a Backend.
#pragma once

#include "backends/generate/generate_rig.h"
#include "base/temporary_folder.h"
#include "base/test_error.h"
#include "model/decoder/tiny_onnx_decoder.h"
#include "model/decoder/tokenizer.h"
#include "model/model_source.h"
#include "model/onnx_writer.h"

#include <deepgap/token_scorer.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace deepgap {

class OnnxDecoderRig : public ::testing::Test, protected GenerateRig {
 protected:
  std::shared_ptr<const Model> model_of(const Graph& graph) const {
    std::ofstream(path_) << write_onnx(graph);
    return open_model({.name = path_, .task = Task::generate});
  }
  std::vector<int64_t> tokens_of(const std::string& text) const { return make_word_tokenizer(tiny_.vocabulary)->encode(text); }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/model.onnx";
  const TinyOnnxDecoder tiny_;
};

template <typename Engine>
class OnnxGenerate : public OnnxDecoderRig {
 public:
  void answers_are_those_without_a_cache() {
    TestPrompts prompts;
    prompts.add("one two three four", 12);
    const auto model = model_of(tiny_.graph());
    const auto session = load_words(*model);
    session->stage(prompts.views());
    const std::vector<int64_t> tokens = answer(*session, 0);
    EXPECT_EQ(error_, "");
    EXPECT_EQ(tokens, tiny_.answer(tokens_of("one two three four"), 12));
    EXPECT_EQ(counts_.input, 4);
    EXPECT_EQ(counts_.output, 12);
    EXPECT_EQ(std::count_if(marks_.begin(), marks_.end(), [](const Mark& mark) { return mark.id == MarkId::tokens; }), 12);
    EXPECT_EQ(answer(*session, 0), tokens) << "the cache of the query before is gone";
    const auto counts = session->take_counts();
    EXPECT_EQ(counts.at("prefill.tokens"), 8);
    EXPECT_EQ(counts.at("decode.tokens"), 22);
    EXPECT_EQ(counts.at("mixed.steps"), 0);
    EXPECT_EQ(counts.at("kv_cache_bytes"), (4 + 12 + 8) * 2 * 2 * 2 * 4 * 4) << "8 tokens more, for texts that are made unique";
    EXPECT_EQ(session->precision_shares(), (PrecisionShares{{"fp32", 1.0}}));
  }

  // Requires the answer that the decoder computes without a cache; returns the counts of the run.
  std::map<std::string, double> counts_of_right_answer(const TinyOnnxDecoder& decoder) {
    TestPrompts prompts;
    prompts.add("one two three", 8);
    const auto model = model_of(decoder.graph());
    const auto session = load_words(*model);
    session->stage(prompts.views());
    EXPECT_EQ(answer(*session, 0), decoder.answer(tokens_of("one two three"), 8));
    EXPECT_EQ(error_, "");
    return session->take_counts();
  }

  void caches_of_halves_are_kept_as_they_are() {
    EXPECT_EQ(counts_of_right_answer({.cache = DataType::f16}).at("kv_cache_bytes"), (3 + 8 + 8) * 2 * 2 * 2 * 4 * 2);
  }

  void scores_of_the_last_token_suffice() { counts_of_right_answer({.last_alone = true}); }

  void merged_files_compute_their_branch_with_a_cache() { counts_of_right_answer({.merged = true}); }

  void a_text_is_scored_token_by_token() {
    const std::vector<int64_t> tokens = tokens_of("one two three four five six");
    for (const bool last_alone : {false, true}) {
      const TinyOnnxDecoder network{.last_alone = last_alone};
      const auto model = model_of(network.graph());
      const auto session = load_words(*model);
      auto* scorer = dynamic_cast<TokenScorer*>(session.get());
      ASSERT_NE(scorer, nullptr);
      for (int time = 0; time < 2; ++time) {
        size_t next = 2;
        scorer->score(tokens, next, [&](size_t position, std::span<const float> scores) {
          EXPECT_EQ(position, next++);
          const std::vector<int64_t> before(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(position) + 1);
          EXPECT_EQ(std::max_element(scores.begin(), scores.end()) - scores.begin(), network.answer(before, 1).front());
        });
        EXPECT_EQ(next, tokens.size());
      }
    }
  }

  void sequences_of_unlike_length_take_turns() {
    const std::vector<std::string> texts{"a b c d e f g h", "i", "j k l"};
    const auto limit = [](size_t i) { return static_cast<int64_t>(5 + 7 * i); };
    TestPrompts prompts;
    for (size_t i = 0; i < texts.size(); ++i) prompts.add(texts[i], limit(i));
    options_.slots = 3;
    const auto model = model_of(tiny_.graph());
    const auto session = load_words(*model);
    session->stage(prompts.views());
    for (uint32_t slot = 0; slot < 3; ++slot) session->enqueue(static_cast<int>(slot), std::vector<uint32_t>{slot}, 1);
    session->drain();
    for (size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(answer_in(*session, static_cast<int>(i)), tiny_.answer(tokens_of(texts[i]), limit(i))) << texts[i];
  }

  void the_tokenizer_beside_the_file_is_used() {
    std::ofstream(folder_.path() + "/tokenizer.json") << R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
               "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})";
    TestPrompts prompts;
    prompts.add("abba", 5);
    const auto model = model_of(tiny_.graph());
    const auto session = load(backend_, *model, {});
    session->stage(prompts.views());
    EXPECT_EQ(answer(*session, 0), tiny_.answer({2, 1, 0}, 5));
  }

  // The new tokens' values alone, as some exports give them.
  void a_cache_that_does_not_grow_fails_the_query() {
    Graph graph = tiny_.graph();
    const auto made_by = [&](const std::string& name) {
      return std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.name == name; })->outputs[0];
    };
    const ValueId joined = made_by("1.value.joined"), current = made_by("layer1.value.first");
    std::swap(graph.values[static_cast<size_t>(joined)].name, graph.values[static_cast<size_t>(current)].name);
    std::replace(graph.outputs.begin(), graph.outputs.end(), joined, current);
    TestPrompts prompts;
    prompts.add("a b", 3);
    const auto model = model_of(graph);
    const auto session = load_words(*model);
    session->stage(prompts.views());
    answer(*session, 0);
    EXPECT_THAT(error_, ::testing::HasSubstr("output 'present.1.value' has the shape [1, 2, 1, 4], expected [1, 2, 3, 4]"));
  }

  void what_is_not_there_is_refused_by_name() {
    using ::testing::HasSubstr;
    const auto model = model_of(tiny_.graph());
    const auto reason = [&](const EngineOptions& options = {}) { return support(backend_, *model, options).reason; };
    EXPECT_EQ(reason(), "");
    EXPECT_THAT(error_of([&] { reason({{"top_k", "3"}}); }), HasSubstr(": sampling_seed, top_k"));
    EXPECT_THAT(failure_of([&] { load(backend_, *model, {}); }).what(), HasSubstr("no tokenizer.json beside"));
    options_.precision = Precision::fp16;
    EXPECT_THAT(reason(), HasSubstr("precision fp16"));
    options_.precision = Precision::int8;
    EXPECT_THAT(reason(), HasSubstr("precision int8"));
    options_.precision = Precision::fp32;
    options_.placement.devices = {DeviceId{"", "npu", 0}};
    EXPECT_THAT(reason(), HasSubstr("device npu"));
    options_.placement.devices = {DeviceId{"", "cpu", 0}};
    EXPECT_THAT(backend_.supports(options_, GraphSummary()).reason, HasSubstr("ONNX file of a decoder with past key values"));
    options_.task = Task::infer;
    EXPECT_THAT(error_of([&] { reason({{"answers", "x"}}); }), HasSubstr("--task generate"));
  }

 private:
  std::unique_ptr<Session> load_words(const Model& model) { return load(backend_, model, {{"tokenizer", "words"}}); }

  Engine backend_;
};

TYPED_TEST_SUITE_P(OnnxGenerate);
TYPED_TEST_P(OnnxGenerate, AnswersAreThoseWithoutACache) { this->answers_are_those_without_a_cache(); }
TYPED_TEST_P(OnnxGenerate, CachesOfHalvesAreKeptAsTheyAre) { this->caches_of_halves_are_kept_as_they_are(); }
TYPED_TEST_P(OnnxGenerate, ScoresOfTheLastTokenSuffice) { this->scores_of_the_last_token_suffice(); }
TYPED_TEST_P(OnnxGenerate, MergedFilesComputeTheirBranchWithACache) { this->merged_files_compute_their_branch_with_a_cache(); }
TYPED_TEST_P(OnnxGenerate, ATextIsScoredTokenByToken) { this->a_text_is_scored_token_by_token(); }
TYPED_TEST_P(OnnxGenerate, SequencesOfUnlikeLengthTakeTurns) { this->sequences_of_unlike_length_take_turns(); }
TYPED_TEST_P(OnnxGenerate, TheTokenizerBesideTheFileIsUsed) { this->the_tokenizer_beside_the_file_is_used(); }
TYPED_TEST_P(OnnxGenerate, ACacheThatDoesNotGrowFailsTheQuery) { this->a_cache_that_does_not_grow_fails_the_query(); }
TYPED_TEST_P(OnnxGenerate, WhatIsNotThereIsRefusedByName) { this->what_is_not_there_is_refused_by_name(); }
REGISTER_TYPED_TEST_SUITE_P(OnnxGenerate, AnswersAreThoseWithoutACache, CachesOfHalvesAreKeptAsTheyAre, ScoresOfTheLastTokenSuffice,
                            MergedFilesComputeTheirBranchWithACache, ATextIsScoredTokenByToken, SequencesOfUnlikeLengthTakeTurns,
                            TheTokenizerBesideTheFileIsUsed, ACacheThatDoesNotGrowFailsTheQuery, WhatIsNotThereIsRefusedByName);

}  // namespace deepgap
