// Advice for messages about failed writes. HDF5 seldom reports the cause of the failure, so the advice assumes
// a full disk.
#pragma once

#include <string_view>

namespace trireme::archive::hdf5 {

inline constexpr std::string_view check_space_advice =
    "check the free space of the output's folder, then run the command again";

}  // namespace trireme::archive::hdf5
