// The options of the tools `prepare`, `convert`, `inspect`, `report` and `doctor`.
#pragma once

#include <string>
#include <vector>

#include "app/options/option.hpp"
#include "trireme/tools/doctor.hpp"
#include "trireme/tools/prepare.hpp"
#include "trireme/tools/stored_files.hpp"

namespace trireme::app {

struct InspectConfig {
    std::string file;
    bool verify = false;  // also compare every checksum
};

struct ReportConfig {
    std::string run_directory;
    std::string output;  // path of the HTML page; if empty, store_run_directory() sets it
};

// The options refer to the configuration, which must outlive them.
std::vector<OptionGroup> make_prepare_options(tools::PrepareConfig& config);
std::vector<OptionGroup> make_convert_options(tools::ConvertConfig& config);
std::vector<OptionGroup> make_inspect_options(InspectConfig& config);
std::vector<OptionGroup> make_report_options(ReportConfig& config);
std::vector<OptionGroup> make_doctor_options(tools::DoctorConfig& config);

void check_doctor_options(const tools::DoctorConfig& config);  // throws ConfigError

// Store the positional words of the command line in `config`. Throw ConfigError if there are too few or too
// many words, or if they contradict the options.
void store_prepare_inputs(tools::PrepareConfig& config, const std::vector<std::string>& inputs);
void store_convert_folders(tools::ConvertConfig& config, const std::vector<std::string>& folders);
void store_inspect_file(InspectConfig& config, const std::vector<std::string>& files);
void store_run_directory(ReportConfig& config, const std::vector<std::string>& directories);

}  // namespace trireme::app
