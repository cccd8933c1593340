# Installing, and the relocatable bundle that gets deepgap to machines without a compiler.

get_property(deepgap_plugins GLOBAL PROPERTY DEEPGAP_PLUGINS)
# What a user runs: the program and its plug-ins, without tests and benchmarks.
add_custom_target(deepgap_programs DEPENDS deepgap ${deepgap_plugins})
# What a first result needs, which ./quickstart compiles: the program and the engines that compute on this machine's CPU and are in its set-up.
add_custom_target(deepgap_core DEPENDS deepgap)
foreach(engine native onnxruntime openvino)
  if(TARGET deepgap_plugin_${engine})
    add_dependencies(deepgap_core deepgap_plugin_${engine})
  endif()
endforeach()

deepgap_library_path(deepgap "$ORIGIN/../lib/deepgap/deps")
if(TARGET deepgap_conformance)
  deepgap_library_path(deepgap_conformance "$ORIGIN/../lib/deepgap/deps")
endif()

# The SDK, so that a plug-in can be built out of tree: find_package(deepgap), link deepgap::deepgap_sdk. A plug-in fits the release that it was
# built with (the ABI number of backend.h says the rest).
# Components: `program` is the program with its plug-ins and what these need, which the Python wheel has; `engines` are libraries of others that
# plug-ins open; `sdk`, `docs` and `tests` are the rest. `cmake --install` installs all of them.
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/deepgap-config-version.cmake COMPATIBILITY SameMinorVersion)
install(DIRECTORY include/deepgap DESTINATION include COMPONENT sdk)
install(TARGETS deepgap_sdk EXPORT deepgap)
install(EXPORT deepgap NAMESPACE deepgap:: DESTINATION lib/cmake/deepgap FILE deepgap-config.cmake COMPONENT sdk)
install(FILES ${PROJECT_BINARY_DIR}/deepgap-config-version.cmake DESTINATION lib/cmake/deepgap COMPONENT sdk)
install(DIRECTORY studies DESTINATION share/deepgap COMPONENT program)
install(FILES LICENSE DESTINATION share/deepgap COMPONENT program)
install(DIRECTORY docs DESTINATION share/doc/deepgap COMPONENT docs PATTERN results EXCLUDE)
install(FILES README.md CHANGELOG.md DESTINATION share/doc/deepgap COMPONENT docs)
foreach(part program engines)
  configure_file(cmake/install_libraries.cmake.in install_libraries_${part}.cmake @ONLY)
  install(SCRIPT ${PROJECT_BINARY_DIR}/install_libraries_${part}.cmake COMPONENT ${part})
endforeach()

set(bundled_tests)
if(TARGET deepgap_conformance)
  set(bundled_tests deepgap_conformance)
endif()
add_custom_target(bundle
  COMMAND ${PROJECT_SOURCE_DIR}/tools/bundle ${PROJECT_BINARY_DIR} deepgap-${PROJECT_VERSION}-linux-x86_64 "${DEEPGAP_SITE_PACKAGES}"
  DEPENDS deepgap_programs ${bundled_tests}
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
  COMMENT "Packing deepgap-${PROJECT_VERSION}-linux-x86_64.tar.gz"
  VERBATIM)

# The Python wheel, in the source tree's dist: pip install dist/*.whl
add_custom_target(wheel
  COMMAND ${PROJECT_SOURCE_DIR}/tools/wheel ${PROJECT_BINARY_DIR}
  DEPENDS deepgap_programs
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
  COMMENT "Packing the Python wheel"
  VERBATIM)
