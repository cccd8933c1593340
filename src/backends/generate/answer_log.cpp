#include "backends/generate/answer_log.h"

#include "base/dump_json.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <utility>

namespace deepgap {

AnswerLog::AnswerLog(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  if (!std::ofstream(path_, std::ios::trunc))
    throw Error(ErrorKind::input, fmt::format("{}: the file of answers cannot be written", path_));
}

void AnswerLog::add(std::span<const int64_t> prompt, std::span<const int64_t> answer) {
  if (path_.empty() || added_ >= most_answers) return;
  ++added_;
  answers_.push_back({{prompt.begin(), prompt.end()}, {answer.begin(), answer.end()}});
}

void AnswerLog::write(const Tokenizer& tokenizer) {
  if (answers_.empty()) return;
  std::ofstream file(path_, std::ios::app);
  for (const Answer& answer : answers_) {
    const nlohmann::json line{{"prompt_tokens", answer.prompt}, {"tokens", answer.tokens}, {"text", tokenizer.decode(answer.tokens)}};
    file << dump_line(line) << '\n';
  }
  answers_.clear();
  if (!file.flush()) throw Error(ErrorKind::input, fmt::format("{}: the answers cannot be written", path_));
}

}  // namespace deepgap
