# SPDX-License-Identifier: Apache-2.0
# What programs that link crashhook need: headers, pkg-config files and a CMake package,
# in the build tree as in an installation, so that they can be used from either.
include(CMakePackageConfigHelpers)
include(${CMAKE_CURRENT_LIST_DIR}/crashhook-index.cmake)

file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/crashhook/*.h
    ${PROJECT_SOURCE_DIR}/include/crashhook/*.hpp)
foreach(header ${public_headers})
    get_filename_component(name ${header} NAME)
    configure_file(${header} ${PROJECT_BINARY_DIR}/include/crashhook/${name} COPYONLY)
endforeach()

# ch_package_files(FOLDER LIBDIR INCLUDEDIR RPATH): writes them below FOLDER for a tree
# whose libraries are in LIBDIR.
function(ch_package_files folder libdir includedir rpath)
    set(root /root-of-the-tree)
    file(RELATIVE_PATH prefix_from_pc ${root}/${libdir}/pkgconfig ${root})
    file(RELATIVE_PATH prefix_from_cmake ${root}/${libdir}/cmake/crashhook ${root})
    string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
    string(REGEX REPLACE "/$" "" prefix_from_cmake "${prefix_from_cmake}")
    set(source ${PROJECT_SOURCE_DIR}/packaging)
    set(names crashhook crashhook-flight crashhook-flight-static crashhook-go crashhook-static)
    if(TARGET crashhook_backtrace)
        list(APPEND names crashhook-backtrace)
    endif()
    foreach(name ${names})
        configure_file(${source}/${name}.pc.in ${folder}/pkgconfig/${name}.pc @ONLY)
    endforeach()
    configure_file(${source}/crashhook-config.cmake.in
        ${folder}/cmake/crashhook/crashhook-config.cmake @ONLY)
    configure_file(${source}/crashhook-index.cmake
        ${folder}/cmake/crashhook/crashhook-index.cmake COPYONLY)
    write_basic_package_version_file(
        ${folder}/cmake/crashhook/crashhook-config-version.cmake
        VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
endfunction()

# The loader looks in /usr/lib by itself; anywhere else a program must be told.
set(rpath "-Wl,-rpath,\${libdir} ")
ch_package_files(${PROJECT_BINARY_DIR}/lib lib include "${rpath}")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(rpath "")
endif()
ch_package_files(${PROJECT_BINARY_DIR}/installed ${CMAKE_INSTALL_LIBDIR}
    ${CMAKE_INSTALL_INCLUDEDIR} "${rpath}")

set(libraries crashhook_shared crashhook_static crashhook_flight_shared crashhook_flight_static)
if(TARGET crashhook_heap_shared)
    list(APPEND libraries crashhook_heap_shared crashhook_heap_static)
endif()
if(TARGET crashhook_backtrace)
    list(APPEND libraries crashhook_backtrace crashhook_throws)
endif()
install(TARGETS ${libraries} COMPONENT library
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${public_headers} COMPONENT library
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/crashhook)
install(DIRECTORY ${PROJECT_BINARY_DIR}/installed/ COMPONENT library
    DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(NOT ch_embedded)
    # Packages run ldconfig themselves.
    install(CODE "if(NOT DEFINED ENV{DESTDIR} AND CMAKE_INSTALL_PREFIX MATCHES \"^/usr(/local)?$\")
        message(STATUS \"run ldconfig as root, so that programs find libcrashhook.so.${CRASHHOOK_ABI}\")
    endif()" COMPONENT library)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/bindings COMPONENT library USE_SOURCE_PERMISSIONS
        DESTINATION ${CMAKE_INSTALL_DATADIR}/crashhook
        PATTERN __pycache__ EXCLUDE PATTERN target EXCLUDE)
endif()
