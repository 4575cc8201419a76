// Runs many cases and writes one line for each: what differs most from a single rank, and the verdict. A case that
// the file has already is not run again, so that the command goes on where it was stopped.
//
//   equivalence_product OUTPUT.csv [WAYS]     every combination of levels of WAYS factors (3); 0: every case
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>

#include "equivalence/trials.hpp"
#include "messages/program.hpp"

namespace trireme::equivalence {
namespace {

namespace fs = std::filesystem;

constexpr const char* header = "case,losses,gradient norms,parameters,verdict\n";

// The first field of each whole line.
std::set<std::string> finished(const fs::path& output) {
    std::set<std::string> cases;
    std::ifstream in(output);
    for (std::string line; std::getline(in, line) && !in.eof();) cases.insert(line.substr(0, line.find(',')));
    return cases;
}

// A program that was stopped while it wrote leaves half a line, which must not begin the next one.
void cut_half_a_line(const fs::path& output) {
    std::ifstream in(output, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    fs::resize_file(output, text.rfind('\n') + 1);
}

std::string line_of(Trials& trials, const Case& chosen) {
    std::ostringstream line;
    line << name_of(chosen) << ',';
    try {
        const Difference apart = difference(trials.run(chosen, messages::programs() - 1), trials.one_rank(chosen));
        line << apart.losses << ',' << apart.norms << ',' << apart.parameters << ','
             << (keeps_bars(apart, chosen) ? "equal" : "UNEQUAL");
    } catch (const std::runtime_error& error) {
        std::cerr << error.what() << '\n';
        line << ",,,FAILED";
    }
    return line.str() + "\n";
}

class Report {
public:
    Report(fs::path output) : output_(std::move(output)) {
        if (!fs::exists(output_)) std::ofstream(output_) << header;
        cut_half_a_line(output_);
        finished_ = finished(output_);
    }

    bool has(const Case& chosen) const { return finished_.contains(name_of(chosen)); }
    void add(const std::string& line) { std::ofstream(output_, std::ios::app) << line; }

private:
    fs::path output_;
    std::set<std::string> finished_;
};

fs::path scratch_folder() {
    std::string name = (fs::temp_directory_path() / "trireme-equivalence-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder can be made: " + name);
    return name;
}

void run_all(const fs::path& output, int ways) {
    const fs::path folder = scratch_folder();
    Trials trials(folder);
    Report report(output);
    const auto run = [&](const Case& chosen) {
        if (!report.has(chosen)) report.add(line_of(trials, chosen));
    };
    const Product product = product_of_factors();
    if (ways == 0) {
        product.for_each(run);
    } else {
        for (const Case& chosen : product.covering(ways)) run(chosen);
    }
    fs::remove_all(folder);
}

}  // namespace
}  // namespace trireme::equivalence

int main(int count, char** arguments) {
    if (count < 2 || count > 3) {
        std::cerr << "usage: equivalence_product OUTPUT.csv [WAYS]\n";
        return 2;
    }
    trireme::equivalence::run_all(arguments[1], count == 3 ? std::stoi(arguments[2]) : 3);
}
