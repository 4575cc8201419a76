#include "trireme/report/report.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "report/page.hpp"
#include "report/run_records.hpp"
#include "trireme/base/error.hpp"

namespace trireme::report {
namespace {

namespace fs = std::filesystem;

// Throws ConfigError if `output` is a record of the run, which the report would replace.
void refuse_record(const fs::path& run_directory, const fs::path& output) {
    for (const char* name :
         {"steps.jsonl", "summary.json", "manifest.json", "config.ini", "decisions.jsonl", "trace.json"}) {
        std::error_code absent;  // set if a file does not exist: then the files are not equivalent
        if (fs::equivalent(run_directory / name, output, absent)) {
            throw ConfigError(cat("the report would replace ", output.string(),
                                  ", a record of the run; choose another --output"));
        }
    }
}

}  // namespace

void write_report(const fs::path& run_directory, const fs::path& output) {
    const std::string html = report::make_page(report::read_run(run_directory));
    refuse_record(run_directory, output);
    std::ofstream file(output, std::ios::binary);
    if (!file) {
        throw ConfigError(cat("the report ", output.string(), " cannot be written: ", std::strerror(errno),
                              "; choose another --output"));
    }
    file << html << std::flush;
    if (!file) throw ResourceError(cat(output.string(), " could not be written; is the disk full?"));
}

}  // namespace trireme::report
