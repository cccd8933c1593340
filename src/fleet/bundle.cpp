#include "fleet/bundle.h"

#include "base/text.h"
#include "base/words.h"
#include "fleet/program.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace deepgap {
namespace {

constexpr const char* how_to_make = "(cmake --build build --target bundle makes one)";

// FOLDER/bin/deepgap: nodes leave out the first part of each name.
bool is_program(const std::string& name) {
  const std::vector<std::string> parts = split(name, '/');
  return parts.size() == 3 && parts[1] == "bin" && parts[2] == "deepgap";
}

}  // namespace

void require_bundle(const std::string& path) {
  if (!std::filesystem::is_regular_file(path))
    throw Error(ErrorKind::input, fmt::format("--bundle: {} is not a file {}", path, how_to_make));
  // Absolute, since tar takes the a of a:b.tar for a host.
  const ProgramResult listing = run_program({"tar", "-tf", std::filesystem::absolute(path).string()}, "it reads the archive of --bundle");
  const std::vector<std::string> lines = split(listing.output, '\n');
  if (listing.timed_out || !listing.exit.ok())
    throw Error(ErrorKind::input, fmt::format("--bundle: {} cannot be unpacked: {} {}", path, printable(lines.front()), how_to_make));
  if (std::none_of(lines.begin(), lines.end(), is_program))
    throw Error(ErrorKind::input, fmt::format("--bundle: {} holds no FOLDER/bin/deepgap {}", path, how_to_make));
}

}  // namespace deepgap
