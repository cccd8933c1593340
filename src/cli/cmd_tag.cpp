// `deepgap tag`: names for Records of a Store, by which they are selected later.
#include "cli/annotation_command.h"

namespace deepgap {
namespace {

const bool registered = add_command<AnnotationCommand>({"tag",
                                                        {CommandGroup::data, 5},
                                                        "Give records of a store a name to select them by; list and remove names",
                                                        "  deepgap tag deepgap.db before-upgrade --until 2026-11-20\n"
                                                        "  deepgap report deepgap.db --tag before-upgrade\n"
                                                        "  deepgap tag deepgap.db                                 list tags\n",
                                                        {"--remove", "--json", "--model", "--study", "--since", "--until"}},
                                                       AnnotationKind::tag);

}  // namespace
}  // namespace deepgap
