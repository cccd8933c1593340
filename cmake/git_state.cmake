# Writes OUTPUT, a header with the state of the source tree that is being built: part of every Record. Rewritten only when it changes.
execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY ${SOURCE}
  OUTPUT_VARIABLE state OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(state "not available: not built in a git tree")
endif()
set(text "#define DEEPGAP_VERSION \"${VERSION}\"\n#define DEEPGAP_GIT_STATE \"${state}\"\n")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
