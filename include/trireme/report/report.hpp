// `trireme report`: one page that shows what a run did.
#pragma once

#include <filesystem>

namespace trireme {

// Reads the records in `run_directory` and writes one HTML file that needs nothing else: no script, no network.
// A run that has no summary yet is shown as far as its records go; a field that the records lack is left out.
// The same records give the same bytes. Throws ConfigError for a directory without records, a record that
// cannot be read (file and line named), and an output that cannot be made; ResourceError when the disk is full.
void write_report(const std::filesystem::path& run_directory, const std::filesystem::path& output);

}  // namespace trireme
