// Runs many cases and writes one line per case: the largest differences from a single rank, and the verdict.
// Cases that the file already has as equal are skipped, so that the command resumes after an interruption or a
// corrected fault.
//
//   equivalence_product OUTPUT.csv [WAYS [emulated-gpu]]     every combination of levels of WAYS factors (3)
//                                                            0: every case
//
// Runs in the simulation; or, much slower, on emulated GPUs, for six steps.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>

#include "equivalence/trials.hpp"
#include "messages/program.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/version.hpp"

namespace trireme::equivalence {
namespace {

namespace fs = std::filesystem;

std::vector<Case> cases_of(const CaseSpace& space, int ways) {
    if (ways > 0) return space.covering(ways);
    std::vector<Case> all;
    space.for_each([&](const Case& chosen) { all.push_back(chosen); });
    return all;
}

std::size_t count_cases(const CaseSpace& space) {
    std::size_t count = 0;
    space.for_each([&](const Case&) { ++count; });
    return count;
}

struct Question {
    fs::path output;
    int ways = 3;
    bool is_on_emulated_gpu = false;
};

constexpr const char* on_emulated_gpus = "emulated-gpu";

std::string header(const CaseSpace& space, const Question& asked, std::size_t cases) {
    std::ostringstream text;
    text << "# " << cases << " cases, which hold every combination of levels of " << asked.ways
         << " factors (0: of all), of " << count_cases(space)
         << " in the whole product; one line for each that was run\n"
         << "# ranks: "
         << (asked.is_on_emulated_gpu ? "processes that share emulated GPUs, on a processor; no GPU was used"
                                      : "simulated, on a processor")
         << "; figures are the largest relative differences from one rank\n"
         << "# command: validation/equivalence/whole_product.sh BUILD " << asked.output.string() << ' '
         << asked.ways << (asked.is_on_emulated_gpu ? cat(" ", on_emulated_gpus) : "") << '\n'
         << "case,losses,gradient norms,parameters,verdict\n";
    return text.str();
}

// The comment line above the lines of one program. If the tree had changes, "with changes" follows the commit.
constexpr const char* program_mark = "# lines below are by trireme ";

std::string program_line() {
    return cat(program_mark, describe_version(), ", ", make_build_facts().compiler,
               make_build_facts().revision.ends_with(" with changes") ? "" : ", clean tree");
}

bool is_equal(const std::string& line) { return line.ends_with(",equal"); }

Figures figures_of(Trials& trials, const Case& chosen, bool is_on_emulated_gpu) {
    if (!is_on_emulated_gpu) return trials.run(chosen, messages::programs() - 1);
    const std::size_t any = std::accumulate(chosen.begin(), chosen.end(), std::size_t{0});
    return trials.run_on_gpu(chosen, precision_of(chosen), any % messages::mpi_libraries());
}

std::string line_of(Trials& trials, const Case& chosen, bool is_on_emulated_gpu) {
    std::ostringstream line;
    line << to_string(chosen) << ',';
    try {
        const Difference apart =
            difference(figures_of(trials, chosen, is_on_emulated_gpu), trials.one_rank(chosen));
        line << apart.losses << ',' << apart.norms << ',' << apart.parameters << ','
             << (is_within_tolerance(apart, chosen) ? "equal" : "UNEQUAL");
    } catch (const std::runtime_error& error) {
        std::cerr << error.what() << '\n';
        line << ",,,FAILED";
    }
    return line.str();
}

class Report {
public:
    // Keeps the lines of an earlier run that need not be repeated. Its last line may be incomplete.
    Report(const fs::path& output, const std::string& header) {
        std::ifstream before(output);
        std::ostringstream kept;
        std::string program;
        for (std::string line; std::getline(before, line) && !before.eof();) {
            if (line.starts_with(program_mark)) program = line;
            if (!is_equal(line) && !line.starts_with(program_mark)) continue;
            kept << line << '\n';
            equal_.insert(line.substr(0, line.find(',')));
        }
        before.close();
        out_.open(output);
        out_ << header << kept.str();
        if (program != program_line()) out_ << program_line() << '\n';
        out_ << std::flush;
    }

    bool has(const Case& chosen) const { return equal_.contains(to_string(chosen)); }
    void add(const std::string& line) { out_ << line << std::endl; }

private:
    std::set<std::string> equal_;
    std::ofstream out_;
};

// Returns the number of cases that were not equal.
int run_all(const Question& asked) {
    const validation::ScratchFolder folder;
    Trials trials(folder.file(""),
                  asked.is_on_emulated_gpu ? "--steps 6 --eval-every 3" : "--steps 20 --eval-every 10");
    const CaseSpace space = product_of_factors();
    const std::vector<Case> cases = cases_of(space, asked.ways);
    Report report(asked.output, header(space, asked, cases.size()));
    int unequal = 0;
    for (const Case& chosen : cases) {
        if (report.has(chosen)) continue;
        const std::string line = line_of(trials, chosen, asked.is_on_emulated_gpu);
        unequal += is_equal(line) ? 0 : 1;
        report.add(line);
    }
    return unequal;
}

}  // namespace
}  // namespace trireme::equivalence

int main(int count, char** arguments) {
    if (count < 2 || count > 4 ||
        (count == 4 && std::string_view(arguments[3]) != trireme::equivalence::on_emulated_gpus)) {
        std::cerr << "usage: equivalence_product OUTPUT.csv [WAYS [emulated-gpu]]\n";
        return 2;
    }
    const int ways = count > 2 ? std::stoi(arguments[2]) : 3;
    const int unequal = trireme::equivalence::run_all({arguments[1], ways, count == 4});
    return unequal == 0 ? 0 : 1;
}
