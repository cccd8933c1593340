// `deepgap __read`: the confined child that looks at files (worker/reading.h). Requests: {"kind":"inspect", ...} as worker/inspect.h says;
// {"kind":"inputs", "request"} of outputs_request_to_json; {"kind", "path"} of a FileKind, such as "study". Answers {"kind":"read"} or an
// error.
#include "base/confine.h"
#include "base/file.h"
#include "base/json_words.h"
#include "base/subprocess.h"
#include "cli/command.h"
#include "cli/file_kind.h"
#include "plan/study.h"
#include "quantize/calibration_table.h"
#include "worker/inspect.h"
#include "worker/protocol.h"
#include "worker/reading.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <new>

namespace deepgap {
namespace {

void look(const nlohmann::json& request) {
  const std::string kind = request.at("kind");
  if (kind == "inputs") return look_at_inputs(outputs_request_from_json(request.at("request")));
  Registry<FileKind>::instance().make("kind of file", kind)->read(request.at("path"));
}

Frame answer_to(const nlohmann::json& request) {
  try {
    look(request);
    return {{{"kind", "read"}}, {}};
  } catch (const Error& error) {
    return error_frame(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    return error_frame(ErrorKind::input,
                       fmt::format("cannot read {}: it needs {}", request.value("path", "the model and its samples"), too_much_memory()));
  } catch (const std::exception& error) {
    return error_frame(ErrorKind::internal, json_words(error));
  }
}

class ReadCommand final : public Command {
 public:
  int run() override {
    confine(reader_confinement());
    FrameWriter writer(channel_descriptor);
    const auto request = FrameReader(channel_descriptor).read();
    if (!request) return exit_internal;
    if (request->header.value("kind", "") == "inspect") {
      serve_inspection(*request, writer);
    } else {
      writer.write(answer_to(request->header));
    }
    ::_exit(exit_ok);
  }
};

const bool registered =
    add_command<ReadCommand>({.name = reading_command, .describe = "Reads files, confined (for other subcommands)", .hidden = true}) &&
    add_file_kind("study", [](const std::string& path) { read_study(path); }) &&
    add_file_kind("table", [](const std::string& path) { read_table(path); });

}  // namespace
}  // namespace deepgap
