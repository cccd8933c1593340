// `deepgap note`: a line about Records of a Store, which exports and reports show.
#include "cli/annotation_command.h"

namespace deepgap {
namespace {

const bool registered = add_command<AnnotationCommand>({"note",
                                                        {CommandGroup::data, 6},
                                                        "Attach a note to records of a store; list and remove notes",
                                                        "  deepgap note deepgap.db \"fan was broken\" --since 2026-11-23T10:00\n"
                                                        "  deepgap note deepgap.db --remove --study nightly\n",
                                                        {"--remove", "--json", "--model", "--study", "--since", "--until"}},
                                                       AnnotationKind::note);

}  // namespace
}  // namespace deepgap
