// `deepgap note`: a line about Records of a Store, which exports and reports show.
#include "cli/annotation_command.h"

namespace deepgap {
namespace {

class NoteCommand final : public AnnotationCommand {
 public:
  NoteCommand() : AnnotationCommand(AnnotationKind::note) {}
  std::string name() const override { return "note"; }
  HelpPlace help_place() const override { return {CommandGroup::data, 6}; }
  std::vector<std::string> common_flags() const override { return {"--remove", "--json", "--model", "--study", "--since", "--until"}; }
  std::string describe() const override { return "Attach a note to records of a store; list and remove notes"; }
  std::string examples() const override {
    return "  deepgap note deepgap.db \"fan was broken\" --since 2026-11-23T10:00\n"
           "  deepgap note deepgap.db --remove --study nightly\n";
  }
};

const bool registered = Registry<Command>::instance().add("note", [] { return std::make_unique<NoteCommand>(); });

}  // namespace
}  // namespace deepgap
