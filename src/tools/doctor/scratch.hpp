// What a folder is good for.
#pragma once

#include <filesystem>

#include "tools/doctor/facts.hpp"

namespace trireme::doctor {

// Writes so many bytes, syncs them to the disk, reads them again without the system's copy where it lets go of
// it, and compares; then writes, reads and sums a small HDF5 file. Leaves nothing behind. What cannot be done
// is a sentence of the result.
ScratchFacts measure_scratch(const std::filesystem::path& folder, std::size_t megabytes = 64);

}  // namespace trireme::doctor
