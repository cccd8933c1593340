// Answers of a small decoder with weights made of numbers in order, alone and several together.
#include "backends/generate/generate_rig.h"
#include "backends/native/native_backend.h"
#include "base/temporary_folder.h"
#include "base/test_error.h"
#include "model/decoder/decoder.h"
#include "model/model_of.h"

#include <deepgap/token_scorer.h>

#include <gmock/gmock.h>

#include <fstream>

namespace deepgap {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const Model> small_decoder() {
  DecoderModel model;
  model.shape = {"llama", 2, 32, 64, 4, 2, 8, 8, 300, 50, 1e-5, 10000};
  for (const DecoderWeightSpec& spec : decoder_weights(model.shape)) {
    if (spec.optional) continue;
    Tensor tensor = make_tensor(DataType::f32, spec.is_vector ? Shape{spec.columns} : Shape{spec.rows, spec.columns});
    uint32_t state = static_cast<uint32_t>(spec.name.size() * 7919 + static_cast<size_t>(spec.rows));
    for (float& value : writable<float>(tensor)) {
      state = state * 1664525U + 1013904223U;
      value = spec.is_vector ? 1.0F : static_cast<float>(state >> 8) * 0x1p-23F - 1;
    }
    model.weights[spec.name] = {WeightType::f32, spec.rows, spec.columns, tensor};
  }
  return model_of("small", decoder_graph("small", model));
}

class GenerateSessionTest : public ::testing::Test, protected GenerateRig {
 protected:
  std::unique_ptr<Session> load(const EngineOptions& options = {}) {
    NativeBackend backend;
    return GenerateRig::load(backend, *model_, options);
  }
  Support support(const EngineOptions& options = {}) { return GenerateRig::support(NativeBackend(), *model_, options); }

  const std::shared_ptr<const Model> model_ = small_decoder();
};

TEST_F(GenerateSessionTest, ScoresOfAPromptNameTheFirstTokenOfItsAnswer) {
  const std::string text = "one two three four";
  const auto session = load();
  auto* scorer = dynamic_cast<TokenScorer*>(session.get());
  ASSERT_NE(scorer, nullptr);
  EXPECT_EQ(scorer->context(), 300);
  EXPECT_THAT(scorer->encode(""), ::testing::IsEmpty());
  std::vector<size_t> positions;
  int64_t best = -1;
  scorer->score(scorer->encode(text), 2, [&](size_t position, std::span<const float> scores) {
    positions.push_back(position);
    best = std::max_element(scores.begin(), scores.end()) - scores.begin();
  });
  EXPECT_THAT(positions, ::testing::ElementsAre(2, 3));
  TestPrompts prompts;
  prompts.add(text, 1);
  session->stage(prompts.views());
  EXPECT_EQ(answer(*session, 0), std::vector<int64_t>{best});
}

TEST_F(GenerateSessionTest, AnAnswerHasItsTokensAndAMarkForEach) {
  TestPrompts prompts;
  prompts.add("one two three four", 7);
  const auto session = load();
  session->stage(prompts.views());
  const std::vector<int64_t> tokens = answer(*session, 0);
  EXPECT_EQ(tokens.size(), 7U);
  EXPECT_EQ(counts_.input, 4);
  EXPECT_EQ(counts_.output, 7);
  EXPECT_EQ(counts_.cached, 0);
  EXPECT_EQ(counts_.stop, StopReason::limit);
  EXPECT_EQ(std::count_if(marks_.begin(), marks_.end(), [](const Mark& mark) { return mark.id == MarkId::tokens; }), 7);
  EXPECT_TRUE(std::is_sorted(marks_.begin() + 1, marks_.end(), [](const Mark& a, const Mark& b) { return a.ns < b.ns; }));
  EXPECT_EQ(answer(*session, 0), tokens);
  const auto counts = session->take_counts();
  EXPECT_EQ(counts.at("prefill.tokens"), 8);
  EXPECT_EQ(counts.at("decode.tokens"), 12) << "a prompt's step gives the first token";
  EXPECT_GT(counts.at("kv_cache_bytes"), 0);
  EXPECT_EQ(session->take_counts().at("decode.tokens"), 0);
}

// A prompt of more tokens than a step has rows, unlike lengths, and more queries than fit at once.
TEST_F(GenerateSessionTest, AnswersAreTheSameTogetherAsAlone) {
  TestPrompts prompts;
  std::string longest;
  for (int i = 0; i < 200; ++i) longest += " word" + std::to_string(i);
  prompts.add(longest, 20);
  prompts.add("a b c", 30);
  prompts.add("d", 5);
  const auto single = load();
  single->stage(prompts.views());
  std::vector<std::vector<int64_t>> wanted;
  for (uint32_t sample = 0; sample < 3; ++sample) wanted.push_back(answer(*single, sample));
  options_.slots = 3;
  const auto session = load();
  ASSERT_EQ(session->slots(), 3);
  session->stage(prompts.views());
  for (int slot = 0; slot < 3; ++slot) session->enqueue(slot, std::vector<uint32_t>{static_cast<uint32_t>(slot)}, 1);
  session->drain();
  for (int slot = 0; slot < 3; ++slot) {
    EXPECT_EQ(answer_in(*session, slot), wanted[static_cast<size_t>(slot)]) << slot;
  }
}

TEST_F(GenerateSessionTest, DrawnTokensFollowTheSeed) {
  TestPrompts prompts;
  prompts.add("a b c", 20);
  const auto drawn = [&](const char* seed) {
    const auto session = load({{"temperature", "2"}, {"sampling_seed", seed}});
    session->stage(prompts.views());
    return answer(*session, 0);
  };
  EXPECT_EQ(drawn("1"), drawn("1"));
  EXPECT_NE(drawn("1"), drawn("2"));
}

TEST_F(GenerateSessionTest, UniquePromptsDifferAndAnswersCanBeRead) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/answers.jsonl";
  TestPrompts prompts;
  prompts.add("a b c", 2, 1);
  const auto session = load({{"answers", path}});
  session->stage(prompts.views());
  answer(*session, 0);
  answer(*session, 0);
  EXPECT_EQ(counts_.input, 8) << "five unique words";
  session->take_counts();
  std::ifstream file(path);
  std::string one, two;
  std::getline(file, one);
  std::getline(file, two);
  EXPECT_THAT(one, HasSubstr("\"tokens\":["));
  EXPECT_NE(one, two);
}

TEST_F(GenerateSessionTest, WhatDoesNotFitIsRefusedBeforeAnythingIsTimed) {
  TestPrompts longer, conversation;
  longer.add("a b c", 298);
  const auto session = load();
  EXPECT_THAT(error_of([&] { session->stage(longer.views()); }, ErrorKind::refused), HasSubstr("context of small, which has 300 tokens"));
  conversation.add(R"([{"role":"user","content":"x"}])", 2, -1, true);
  EXPECT_THAT(error_of([&] { session->stage(conversation.views()); }, ErrorKind::refused), HasSubstr("chat template"));
  TestPrompts empty;
  empty.add(" ", 2);
  EXPECT_THAT(error_of([&] { session->stage(empty.views()); }, ErrorKind::refused), HasSubstr("no token"));
}

TEST_F(GenerateSessionTest, WhatIsNotThereIsRefusedByName) {
  EXPECT_TRUE(support().ok) << support().reason;
  EXPECT_THAT(error_of([&] { support({{"sampling_seed", "3"}}); }), HasSubstr("temperature"));
  EXPECT_THAT(error_of([&] { support({{"top_k", "3"}}); }), HasSubstr("temperature"));
  EXPECT_THAT(error_of([&] { support({{"temperature", "hot"}}); }), HasSubstr("a number from 0 to 100"));
  options_.precision = Precision::int8;
  EXPECT_THAT(support().reason, HasSubstr("quantized GGUF file"));
  options_.precision = Precision::bf16;
  EXPECT_TRUE(support().ok);
  options_.placement.devices = {DeviceId{"", "cuda", 0}};
  EXPECT_TRUE(support().ok) << support().reason;
  options_.precision = Precision::fp32;
  EXPECT_THAT(support().reason, HasSubstr("on cuda computes in fp16 or bf16"));
  options_.placement.devices = {DeviceId{"", "npu", 0}};
  EXPECT_THAT(support().reason, HasSubstr("no device npu:0"));
}

TEST_F(GenerateSessionTest, CancelGivesUpWhatWaits) {
  TestPrompts prompts;
  prompts.add("a b c", 100);
  options_.slots = 2;
  const auto session = load();
  session->stage(prompts.views());
  session->enqueue(0, std::vector<uint32_t>{0}, 1);
  session->enqueue(1, std::vector<uint32_t>{0}, 2);
  session->cancel();
  EXPECT_EQ(completed_, 2);
}

}  // namespace
}  // namespace deepgap
