// Whole runs of `train` on the ranks of a job, whose blocks freeze, and their decisions.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ranks/freed/mpi_counts.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/run/train.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::validation {

class TrainedRun : public ::testing::Test {
protected:
    // The model has eight blocks. Rank 0 writes the corpus and the run directories for all ranks.
    TrainedRun() {
        if (session_.rank() == 0) {
            std::vector<std::size_t> lengths;
            for (std::size_t sample = 0; sample < 48; ++sample) lengths.push_back(3 + sample * 7 % 20);
            make_corpus_with_lengths(scratch_, lengths);
        }
        folder_ = all_gather(*control_, scratch_.file("")).front();
        config_.data.corpus = folder_ / "corpus.h5";
        config_.data.validation_fraction = 0;
        config_.model.name = "gpt2-tiny";
        config_.model.layers = 8;
        config_.model.heads = 4;
        config_.model.positions = 24;
        config_.precision = {.dtype = config::Precision::f64, .device = config::DeviceKind::reference};
        config_.run.batch = 16;
        config_.run.quiet = true;
        config_.run.threads = 1;
        config_.schedule.microbatches = 16;
    }
    // Rank 0 removes the folder. No rank may still read it then.
    ~TrainedRun() override { barrier(*control_); }

    // Returns what this rank counts while the run trains.
    MpiCounts train(const std::string& name) {
        config_.run.run_dir = folder_ / name;
        barrier(*control_);
        reset_mpi_counts();
        run::train(config_, session_);
        const MpiCounts counts = mpi_counts();
        barrier(*control_);
        return counts;
    }

    std::vector<plan::Decision> decisions(const std::string& name) const {
        return plan::parse_decisions(read_whole((folder_ / name / "decisions.jsonl").string()), name);
    }

    std::vector<double> gather(double own) { return all_gather(*control_, std::vector{own}); }

    static constexpr double stall_seconds = 60;
    int arguments_ = 0;
    char** words_ = nullptr;
    comm::Session session_{arguments_, words_};
    std::unique_ptr<comm::Communicator> control_ =
        session_.make_group_of_all_ranks("test", {.stall_seconds = stall_seconds});
    ScratchFolder scratch_;
    std::filesystem::path folder_;  // of rank 0
    config::RunConfig config_;
};

}  // namespace trireme::validation
