#include "model/decoder/onnx_decoder.h"

#include "base/temporary_folder.h"
#include "base/test_error.h"
#include "model/decoder/tiny_onnx_decoder.h"
#include "model/decoder/tokenizer.h"
#include "model/decoder/tokenizer_json.h"
#include "model/model_source.h"
#include "model/onnx_writer.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace deepgap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void write(const std::string& path, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << content;
}

Value& value_named(Graph& graph, const std::string& name) {
  return *std::find_if(graph.values.begin(), graph.values.end(), [&](const Value& value) { return value.name == name; });
}

std::string refusal(const Graph& graph) {
  return error_of([&] { onnx_decoder_graph(graph, "/nowhere/model.onnx"); }, ErrorKind::input);
}

TEST(OnnxDecoder, AFileIsReadWithWhatIsBesideIt) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/onnx/model.onnx";
  const TinyOnnxDecoder tiny;
  write(path, write_onnx(tiny.graph()));
  write(folder.path() + "/config.json", R"({"max_position_embeddings": 64, "eos_token_id": [7, 8]})");
  const auto model = open_model({.name = path, .task = Task::generate});
  const OnnxDecoder decoder = onnx_decoder_of(model->graph());
  EXPECT_EQ(decoder.context, 64);
  EXPECT_EQ(decoder.vocabulary, 29);
  EXPECT_EQ(decoder.tokenizer.end, 7);
  EXPECT_EQ(decoder.tokenizer.model, "");
  EXPECT_TRUE(decoder.has_mask);
  EXPECT_TRUE(decoder.has_positions);
  std::vector<std::string> names;
  for (const CachePort& port : decoder.caches) names.push_back(port.past + " " + port.present);
  EXPECT_THAT(names, ElementsAre("past_key_values.0.key present.0.key", "past_key_values.0.value present.0.value",
                                 "past_key_values.1.key present.1.key", "past_key_values.1.value present.1.value"));
  EXPECT_EQ(decoder.cache_bytes_per_token(), 4 * 2 * 4 * 4);
}

// Its operators and weights are those of the file, and it takes prompts of any length.
TEST(OnnxDecoder, TheSummaryIsOfTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model.onnx";
  write(path, write_onnx(TinyOnnxDecoder().graph()));
  const ModelOutline outline = outline_model({.name = path, .task = Task::generate});
  EXPECT_EQ(outline.open_sizes, "");
  EXPECT_TRUE(is_onnx_decoder(outline.summary));
  EXPECT_FALSE(is_onnx_decoder(summarize_model({.name = path})));
  EXPECT_EQ(outline.summary.parameters, 29 * 8 * 2 + 64 * 8 + 2 * 4 * 8 * 8);
  EXPECT_GT(outline.summary.weight_bytes, 4 * outline.summary.parameters - 1);
  EXPECT_TRUE(std::any_of(outline.summary.operators.begin(), outline.summary.operators.end(),
                          [](const OperatorUse& use) { return use.op == "Softmax" && use.count == 2; }));
  write(path, write_onnx(TinyOnnxDecoder{.layers = 1}.graph()));
  EXPECT_NE(outline.summary.content_hash, summarize_model({.name = path, .task = Task::generate}).content_hash);
}

TEST(OnnxDecoder, WhatIsNotADecoderIsRefusedByName) {
  const Graph good = TinyOnnxDecoder().graph();
  EXPECT_NO_THROW(onnx_decoder_graph(good, "/nowhere/model.onnx"));
  const auto without = [&](std::vector<ValueId> Graph::*ids, const std::string& name) {
    Graph graph = good;
    std::erase_if(graph.*ids, [&](ValueId id) { return graph.values[static_cast<size_t>(id)].name == name; });
    return refusal(graph);
  };
  EXPECT_THAT(without(&Graph::inputs, "input_ids"), HasSubstr("no input 'input_ids'"));
  EXPECT_THAT(without(&Graph::outputs, "logits"), HasSubstr("no output 'logits'"));
  EXPECT_THAT(without(&Graph::outputs, "present.1.value"), HasSubstr("no output 'present.1.value' for its input"));
  EXPECT_THAT(without(&Graph::inputs, "past_key_values.0.key"), HasSubstr("'present.0.key' has no input"));
  EXPECT_THAT(refusal(TinyOnnxDecoder{.layers = 0}.graph()), HasSubstr("no input 'past_key_values.0.key'"));
  const auto changed = [&](const std::string& name, const std::function<void(Value&)>& change) {
    Graph graph = good;
    change(value_named(graph, name));
    return refusal(graph);
  };
  EXPECT_THAT(changed("position_ids", [](Value& value) { value.name = "token_type_ids"; }), HasSubstr("'token_type_ids' is not one of"));
  EXPECT_THAT(changed("position_ids", [](Value& value) { value.name = "use_cache_branch"; }), HasSubstr("not one bool"));
  EXPECT_THAT(changed("position_ids", [](Value& value) { value.name = "num_logits_to_keep"; }), HasSubstr("not one int64"));
  EXPECT_THAT(changed("input_ids", [](Value& value) { value.type = DataType::i32; }), HasSubstr("is int32, not int64"));
  EXPECT_THAT(changed("input_ids", [](Value& value) { (*value.dims)[1] = {1, ""}; }), HasSubstr("[N, 1], not [batch, sequence]"));
  EXPECT_THAT(changed("input_ids", [](Value& value) { (*value.dims)[0] = {2, ""}; }), HasSubstr("[2, sequence], not"));
  EXPECT_THAT(changed("past_key_values.0.key", [](Value& value) { (*value.dims)[1] = {1, "heads"}; }), HasSubstr("known heads and size"));
  EXPECT_THAT(changed("past_key_values.0.key", [](Value& value) { value.type = DataType::bf16; }), HasSubstr("bfloat16, not float32"));
  EXPECT_THAT(changed("present.0.key", [](Value& value) { value.type = DataType::f16; }), HasSubstr("'present.0.key' is float16"));
  EXPECT_THAT(changed("present.0.key", [](Value& value) { (*value.dims)[3] = {5, ""}; }), HasSubstr("'present.0.key' is [N, 2"));
  EXPECT_THAT(changed("logits", [](Value& value) { value.dims->pop_back(); }), HasSubstr("not [batch, sequence, vocabulary]"));
  EXPECT_THAT(changed("logits", [](Value& value) { value.dims.reset(); }), HasSubstr("how many tokens"));
}

TEST(OnnxDecoder, AFileOfAnotherNetworkIsRefusedWithItsPath) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/model.onnx";
  NetworkBuilder net("sum");
  const ValueId x = net.input("x", DataType::f32, {{1, batch_symbol}, {3, ""}});
  write(path, write_onnx(net.finish(net.node("Relu", "relu", {x}))));
  EXPECT_THAT(error_of([&] { open_model({.name = path, .task = Task::generate}); }, ErrorKind::input),
              HasSubstr("model.onnx: task generate needs a decoder with past key values"));
  write(path, write_onnx(TinyOnnxDecoder().graph()));
  write(folder.path() + "/config.json", "[1");
  EXPECT_THAT(error_of([&] { open_model({.name = path, .task = Task::generate}); }, ErrorKind::input), HasSubstr("not a JSON object"));
}

constexpr const char* tokenizer_json = R"({
  "added_tokens": [{"id": 5, "content": "<|end|>", "special": true}],
  "normalizer": null,
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Digits", "individual_digits": true},
    {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}]},
  "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|end|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "\u0120ab": 4}, "merges": ["a b", ["\u0120", "ab"]]}
})";

TEST(TokenizerJson, BytePairEncodingIsRead) {
  const auto data = tokenizer_of_json(nlohmann::json::parse(tokenizer_json), {{"chat_template", "x"}}, 29);
  EXPECT_EQ(data.model, "gpt2");
  EXPECT_EQ(data.split, "smollm");
  EXPECT_EQ(data.chat_template, "x");
  const auto tokenizer = make_file_tokenizer(data);
  EXPECT_THAT(tokenizer->encode("ab ab<|end|>a"), ElementsAre(5, 2, 4, 5, 0));
  EXPECT_EQ(tokenizer->decode(std::vector<int64_t>{2, 4}), "ab ab");
}

TEST(TokenizerJson, SplitsAreKnownByTheirForm) {
  auto json = nlohmann::json::parse(tokenizer_json);
  const auto split = [&] { return tokenizer_of_json(json, {}, 29).split; };
  json["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  EXPECT_EQ(split(), "gpt-2");
  json["pre_tokenizer"]["add_prefix_space"] = true;
  EXPECT_EQ(split(), "ByteLevel");
  const std::string rest = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
                    words = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";
  for (const auto& [digits, name] : std::vector<std::pair<std::string, std::string>>{
           {"\\p{N}", "qwen2"}, {"\\p{N}{1,3}", "llama-bpe"}, {"\\p{N}{1,2}", "Split, ByteLevel"}}) {
    json["pre_tokenizer"] = {
        {"type", "Sequence"},
        {"pretokenizers",
         {{{"type", "Split"}, {"pattern", {{"Regex", words + digits + rest}}}, {"behavior", "Isolated"}, {"invert", false}},
          {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
    EXPECT_EQ(split(), name);
  }
  EXPECT_THAT(error_of([&] { make_file_tokenizer(tokenizer_of_json(json, {}, 29)); }, ErrorKind::refused), HasSubstr("tokenizer=words"));
}

TEST(TokenizerJson, OthersAndContradictionsAreRefused) {
  auto json = nlohmann::json::parse(tokenizer_json);
  const auto failure = [&] { return std::string(failure_of([&] { make_file_tokenizer(tokenizer_of_json(json, {}, 29)); }).what()); };
  const auto good = json;
  json["model"]["type"] = "Unigram";
  EXPECT_THAT(failure(), HasSubstr("'Unigram' is not supported"));
  json = good;
  json["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_THAT(failure(), HasSubstr("changed by Lowercase"));
  json = good;
  json["model"]["byte_fallback"] = true;
  EXPECT_THAT(failure(), HasSubstr("byte fallback"));
  json = good;
  json["model"]["vocab"]["z"] = 29;
  EXPECT_THAT(failure(), HasSubstr("outside of the vocabulary of 29"));
  json["model"]["vocab"]["z"] = "x";
  EXPECT_THAT(failure(), HasSubstr("outside of the vocabulary"));
  json["model"]["vocab"] = 3;
  EXPECT_THAT(failure(), HasSubstr("vocabulary is not an object"));
  json = good;
  json["model"]["merges"] = {1};
  EXPECT_THAT(failure(), HasSubstr("not a pair"));
}

}  // namespace
}  // namespace deepgap
