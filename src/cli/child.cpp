#include "cli/child.h"

#include "base/json_words.h"
#include "base/text.h"
#include "cli/command.h"
#include "run/child_process.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <new>

namespace deepgap {
namespace {

using nlohmann::json;

class ChildCommand final : public Command {
 public:
  explicit ChildCommand(ChildAnswer answer) : answer_(std::move(answer)) {}
  int run() override {
    FrameWriter writer(channel_descriptor);
    const auto request = FrameReader(channel_descriptor).read();
    if (!request) return exit_internal;
    writer.write(answer_to(request->header, writer));
    ::_exit(exit_ok);
  }

 private:
  Frame answer_to(const json& request, FrameWriter& writer) const {
    try {
      return {{{"kind", "answer"}, {"answer", answer_(request, writer)}}, {}};
    } catch (const Error& error) {
      return error_frame(error.kind(), error.what());
    } catch (const std::bad_alloc&) {
      return error_frame(ErrorKind::out_of_memory, "not enough memory");
    } catch (const std::exception& error) {
      return error_frame(ErrorKind::refused, json_words(error));
    }
  }

  ChildAnswer answer_;
};

// Returns how it ended, with the last line that it printed, which is nearly always the reason.
std::string death_of(ChildProcess& child) {
  const std::string how = child.exit_state().describe();
  const auto lines = split(trim(child.output_tail()), '\n');
  return lines.back().empty() ? how : fmt::format("{}: {}", how, lines.back());
}

}  // namespace

json call_child(const ChildCall& call) {
  ChildProcess child(call.command);
  child.send({call.request, {}});
  const auto deadline = call.timeout ? std::chrono::steady_clock::now() + *call.timeout : std::chrono::steady_clock::time_point::max();
  Frame frame;
  for (;;) {
    switch (child.wait(frame, deadline)) {
      case ChildProcess::Event::frame:
        throw_error(frame);
        if (frame.header.at("kind") == "answer") return std::move(frame.header.at("answer"));
        if (call.on_frame) call.on_frame(frame);
        break;
      case ChildProcess::Event::silence:
        throw Error(ErrorKind::refused, fmt::format("{}: no answer within {} s", call.subject, call.timeout->count()));
      case ChildProcess::Event::interrupted:  // not asked for
      case ChildProcess::Event::ended:
        throw Error(ErrorKind::refused, fmt::format("{}: {}", call.subject, death_of(child)));
    }
  }
}

bool add_child_command(const std::string& name, const ChildAnswer& answer) {
  return add_command<ChildCommand>({.name = name, .describe = "child of another subcommand", .hidden = true}, answer);
}

}  // namespace deepgap
