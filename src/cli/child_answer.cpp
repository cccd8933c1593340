#include "cli/child_answer.h"

#include "base/subprocess.h"
#include "base/text.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

namespace deepgap {
namespace {

// What came over the channel since the last look; never waits.
void take_answer(const Subprocess& child, std::string& answer) {
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::recv(child.channel(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got <= 0) return;
    answer.append(buffer, static_cast<size_t>(got));
  }
}

// The last line that the child printed is nearly always the reason.
std::string last_words(const Subprocess& child) {
  const auto lines = split(trim(child.output_tail()), '\n');
  return lines.back().empty() ? "" : ": " + lines.back();
}

}  // namespace

ChildAnswer ask_child(const std::vector<std::string>& arguments, std::chrono::seconds patience) {
  SubprocessOptions options;
  options.program = "/proc/self/exe";
  options.arguments = {"deepgap"};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.channel = true;
  Subprocess child(options);
  std::string answer;
  std::optional<ExitState> ended;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!ended && std::chrono::steady_clock::now() < deadline) {
    ended = child.wait(std::chrono::milliseconds(5));
    take_answer(child, answer);
  }
  take_answer(child, answer);
  if (!ended) return {{}, fmt::format("did not answer within {} s", patience.count())};
  // What breaks while its process ends has answered all the same.
  if (nlohmann::json::accept(answer)) return {answer, ""};
  return {{}, ended->describe() + last_words(child)};
}

void answer_parent(const nlohmann::json& answer) {
  const std::string text = answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (size_t written = 0; written < text.size();) {
    const ssize_t got = ::write(channel_descriptor, text.data() + written, text.size() - written);
    if (got <= 0) return;
    written += static_cast<size_t>(got);
  }
}

}  // namespace deepgap
