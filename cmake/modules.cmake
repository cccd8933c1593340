# How a module of src/ becomes a target.
#
# deepgap_module(NAME DEPENDS modules... LINK libraries... TESTS_USE modules...)
#   All *.cpp below the current folder become OBJECT library deepgap_NAME (registrars survive, see base/registry.h); all *_test.cpp become
#   the program deepgap_NAME_test. Sub-folders that call deepgap_module themselves are excluded with EXCLUDE folder...
#   The tests link TESTS_USE too: modules whose registrars they need, and which the module itself may not see.
# deepgap_use(TARGET modules...)
#   Links modules and, transitively, all that they depend on.
# deepgap_plugin(NAME USES modules... LINK libraries... EXCLUDE folders...)
#   The current folder's sources become lib/deepgap/deepgap_NAME.so.
# deepgap_library_path(TARGET PATH)
#   Where TARGET looks for the libraries it needs, the same in the build tree and installed.
# deepgap_beside_plugin(TARGET FOLDER NAME)
#   MODULE TARGET, which a plug-in opens by itself, becomes lib/deepgap/FOLDER/NAME.so.
# deepgap_own_library(NAME PLACE)
#   The build tree's lib/deepgap/deps/NAME, a link to PLACE: a file or a folder of libraries. An installed copy has the files themselves there.

# In a release build: modules whose loops are measured or measure, and what nobody waits for. The rest has CMAKE_CXX_FLAGS_RELEASE.
set(DEEPGAP_HOT_MODULES ceilings dataset engine mlperf scenario stats)
set(DEEPGAP_COLD_MODULES analysis fleet passes plan profile record report run site store)

function(deepgap_level OUT module)
  if(module IN_LIST DEEPGAP_HOT_MODULES)
    set(${OUT} hot PARENT_SCOPE)
  elseif(module IN_LIST DEEPGAP_COLD_MODULES)
    set(${OUT} cold PARENT_SCOPE)
  else()
    set(${OUT} usual PARENT_SCOPE)
  endif()
endfunction()

function(deepgap_optimize target level)
  if(level STREQUAL "hot")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
  elseif(level STREQUAL "cold")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  elseif(level STREQUAL "tests")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  endif()
endfunction()

function(deepgap_sources OUT_SOURCES OUT_TESTS)
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(folder ${ARGN})
    list(FILTER all EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  endforeach()
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER all EXCLUDE REGEX "_test\\.cpp$")
  set(${OUT_SOURCES} ${all} PARENT_SCOPE)
  set(${OUT_TESTS} ${tests} PARENT_SCOPE)
endfunction()

# Modules, and before each what it depends on.
function(deepgap_closure OUT)
  set(closure)
  foreach(module ${ARGN})
    get_property(needs GLOBAL PROPERTY DEEPGAP_CLOSURE_${module})
    list(APPEND closure ${needs} ${module})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  set(${OUT} "${closure}" PARENT_SCOPE)
endfunction()

function(deepgap_use target)
  deepgap_closure(closure ${ARGN})
  list(TRANSFORM closure PREPEND deepgap_)
  target_link_libraries(${target} PRIVATE ${closure})
endfunction()

# Under a sanitizer the tests' own sources, half of all, are compiled without it (CMakePresets.json), in a quarter of the time. Inline functions
# that both sides have come from the product's objects, which are linked first. The macro DEEPGAP_SANITIZED tells a
# test that the product has a sanitizer.
set(DEEPGAP_TEST_FLAGS "" CACHE STRING "Compiler flags for the tests of modules alone")

function(deepgap_tests name tests)
  if(NOT DEEPGAP_TESTS OR NOT tests)
    return()
  endif()
  add_executable(deepgap_${name}_test ${tests})
  target_link_libraries(deepgap_${name}_test PRIVATE deepgap_options GTest::gmock GTest::gtest_main)
  deepgap_optimize(deepgap_${name}_test tests)
  target_compile_options(deepgap_${name}_test PRIVATE ${DEEPGAP_TEST_FLAGS})
  if(NOT DEEPGAP_TEST_FLAGS)
    set(objects deepgap_${name})
    if(NOT TARGET ${objects})
      set(objects deepgap_${name}_objects)  # of a plug-in
    endif()
    get_target_property(links ${objects} INTERFACE_LINK_LIBRARIES)
    deepgap_precompile(deepgap_${name}_test tests LINK ${links})
  endif()
  deepgap_join(deepgap_${name}_test)
  deepgap_use(deepgap_${name}_test ${ARGN})
  add_test(NAME ${name} COMMAND deepgap_${name}_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 3600)
endfunction()

function(deepgap_module name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LINK;EXCLUDE;TESTS_USE" ${ARGN})
  deepgap_sources(sources tests ${arg_EXCLUDE})
  add_library(deepgap_${name} OBJECT ${sources})
  deepgap_level(level ${name})
  deepgap_optimize(deepgap_${name} ${level})
  deepgap_precompile(deepgap_${name} ${level} LINK ${arg_LINK})
  deepgap_join(deepgap_${name})
  target_include_directories(deepgap_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(deepgap_${name} PUBLIC deepgap_sdk ${arg_LINK} PRIVATE deepgap_options)
  deepgap_closure(closure ${arg_DEPENDS})
  foreach(module ${arg_DEPENDS})
    # Only usage requirements: objects are linked once, by deepgap_use.
    target_include_directories(deepgap_${name} PUBLIC $<TARGET_PROPERTY:deepgap_${module},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  set_property(GLOBAL PROPERTY DEEPGAP_CLOSURE_${name} "${closure}")
  deepgap_tests(${name} "${tests}" ${name} ${arg_TESTS_USE})
endfunction()

# Files that go into the program: <generated/HEADER> of the module `target` has `inline std::vector<std::pair<std::string,
# std::string_view>> FUNCTION()`, the names and the texts. NAMED is how get_filename_component calls a name: NAME, or NAME_WE.
function(deepgap_packed_texts target header function namespace named)
  set(texts "// Made by deepgap_packed_texts.\n#pragma once\n\n#include <string>\n#include <string_view>\n#include <utility>\n#include <vector>\n\nnamespace ${namespace} {\n\n")
  string(APPEND texts "inline std::vector<std::pair<std::string, std::string_view>> ${function}() {\n  return {\n")
  foreach(path ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    get_filename_component(name ${path} ${named})
    file(READ ${path} text)
    string(APPEND texts "      {\"${name}\", R\"packed(${text})packed\"},\n")
  endforeach()
  string(APPEND texts "  };\n}\n\n}  // namespace ${namespace}\n")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/${header} CONTENT "${texts}" @ONLY)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
endfunction()

# RPATH rather than RUNPATH: the program's then also serves the libraries that its plug-ins' libraries need. CMake's own path for the build
# tree would be exchanged when installing, and ends in ':' for that; the dynamic linker takes an empty entry for the working directory.
function(deepgap_library_path target path)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${path}" BUILD_WITH_INSTALL_RPATH ON)
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endfunction()

function(deepgap_beside_plugin target folder name)
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/deepgap/${folder})
  deepgap_library_path(${target} "$ORIGIN/../deps")
  install(TARGETS ${target} LIBRARY DESTINATION lib/deepgap/${folder} COMPONENT program)
endfunction()

function(deepgap_own_library name place)
  if(EXISTS ${place})
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib/deepgap/deps)
    file(CREATE_LINK ${place} ${PROJECT_BINARY_DIR}/lib/deepgap/deps/${name} SYMBOLIC)
  endif()
endfunction()

function(deepgap_plugin name)
  cmake_parse_arguments(arg "" "" "USES;LINK;EXCLUDE" ${ARGN})
  deepgap_sources(sources tests ${arg_EXCLUDE})
  # plugin.cpp holds DEEPGAP_BACKEND(...) alone; the rest is compiled once, for the plug-in and for its test.
  set(entry ${CMAKE_CURRENT_SOURCE_DIR}/plugin.cpp)
  list(REMOVE_ITEM sources ${entry})
  add_library(deepgap_${name}_plugin_objects OBJECT ${sources})
  target_include_directories(deepgap_${name}_plugin_objects PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(deepgap_${name}_plugin_objects PUBLIC deepgap_sdk ${arg_LINK} PRIVATE deepgap_options)
  deepgap_precompile(deepgap_${name}_plugin_objects usual LINK ${arg_LINK})
  deepgap_join(deepgap_${name}_plugin_objects)
  add_library(deepgap_plugin_${name} MODULE ${entry})
  set_target_properties(deepgap_plugin_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME deepgap_${name} DEFINE_SYMBOL ""
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/deepgap)
  target_link_libraries(deepgap_plugin_${name} PRIVATE deepgap_${name}_plugin_objects deepgap_options)
  deepgap_library_path(deepgap_plugin_${name} "$ORIGIN/deps")
  # Nothing undefined may wait for the moment it is called.
  target_link_options(deepgap_plugin_${name} PRIVATE -Wl,--no-undefined)
  deepgap_use(deepgap_plugin_${name} ${arg_USES})
  set_property(GLOBAL APPEND PROPERTY DEEPGAP_PLUGINS deepgap_plugin_${name})
  set_property(GLOBAL PROPERTY DEEPGAP_PLUGIN_USES_${name} "${arg_USES}")
  install(TARGETS deepgap_plugin_${name} LIBRARY DESTINATION lib/deepgap COMPONENT program)
  deepgap_tests(${name}_plugin "${tests}" ${arg_USES})
  if(TARGET deepgap_${name}_plugin_test)
    target_link_libraries(deepgap_${name}_plugin_test PRIVATE deepgap_${name}_plugin_objects)
  endif()
endfunction()
