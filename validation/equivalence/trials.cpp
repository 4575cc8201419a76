#include "equivalence/trials.hpp"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <stdexcept>

#include "equivalence/layout_files.hpp"
#include "messages/program.hpp"

namespace trireme::equivalence {
namespace {

namespace fs = std::filesystem;

constexpr int rows = 60;
constexpr unsigned longest_row = 30;  // more than the 24 positions of the models, so some rows are cut in two

// Returns lines of 1 to 30 letters with a pattern that a model can learn.
std::string text() {
    std::mt19937 random;
    std::string lines;
    for (int row = 0; row < rows; ++row) {
        const unsigned letters = 1 + static_cast<unsigned>(random()) % longest_row;
        unsigned at = static_cast<unsigned>(random()) % 4;
        for (unsigned letter = 0; letter < letters; ++letter) {
            lines += "abcd"[at];
            at = (at + 1 + static_cast<unsigned>(random()) % 2) % 4;
        }
        lines += '\n';
    }
    return lines;
}

}  // namespace

Trials::Trials(fs::path folder, std::string steps) : folder_(std::move(folder)), steps_(std::move(steps)) {
    std::ofstream(folder_ / "rows.txt") << text();
    for (const LayoutFile& file : layout_files()) {
        std::ofstream(folder_ / (std::string(file.name) + ".json")) << file.json;
    }
    call("prepare rows.txt --format text --rows line --tokenizer bytes --quiet --output corpus.h5", 0, 0);
}

Figures Trials::run(const Case& chosen, std::size_t mpi) {
    return run(training_options(chosen) + " " + way_options(chosen), ranks_of(chosen), mpi);
}

Figures Trials::run_on_gpu(const Case& chosen, const std::string& dtype, std::size_t mpi,
                           const std::string& more) {
    const std::string options = training_options(chosen) + " " + way_options(chosen);
    return run(on_gpu(options, dtype) + more, ranks_of(chosen), messages::on_emulated_gpu(mpi));
}

const Figures& Trials::one_rank(const Case& chosen) {
    const std::string options = training_options(chosen);
    const auto known = ones_.find(options);
    if (known != ones_.end()) return known->second;
    return ones_[options] = run(options, 0, 0);
}

Figures Trials::run(const std::string& options, int ranks, std::size_t mpi) {
    return run_steps(options + " " + steps_, ranks, mpi);
}

Figures Trials::run_steps(const std::string& options, int ranks, std::size_t mpi) {
    fs::remove_all(folder_ / "run");
    call("train " + options + " --quiet --threads 1 --stall-timeout 20 --run-dir run", ranks, mpi);
    return read_figures(folder_ / "run");
}

void Trials::keep_as(const std::string& name) const { fs::rename(folder_ / "run", folder_ / name); }

double Trials::evaluate(const std::string& options, int ranks, std::size_t mpi) const {
    fs::remove(folder_ / "figures.json");
    call("evaluate --corpus corpus.h5 --threads 1 --stall-timeout 20 --output figures.json " + options, ranks,
         mpi);
    return nlohmann::json::parse(std::ifstream(folder_ / "figures.json")).at("loss");
}

void Trials::call(const std::string& line, int ranks, std::size_t mpi) const {
    std::istringstream in(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    const messages::Outcome outcome = messages::run_program(folder_, words, ranks, mpi);
    if (outcome.code == 0) return;
    throw std::runtime_error("exit code " + std::to_string(outcome.code) + " of trireme " + line + "\n" +
                             outcome.err);
}

}  // namespace trireme::equivalence
