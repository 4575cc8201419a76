// Run directories for tests: two steps, one evaluation, and figures that are easy to follow.
#pragma once

#include <string>

#include "scratch_folder.hpp"

namespace trireme::report {

inline const std::string two_steps =
    R"({"step":1,"loss":6,"tokens":75,"padded_tokens":100,"seconds":1,"clock":"wall","tokens_per_s":75,)"
    R"("mfu":0.5,"mfu_causal":0.4,"bubble":0.2,"comm_wait_s":0.125,"grad_norm":3,"lr":0.001,"peak_bytes":5000000})"
    "\n"
    R"({"step":2,"loss":2,"tokens":75,"padded_tokens":100,"seconds":3,"clock":"wall","tokens_per_s":25,)"
    R"("mfu":0.1,"mfu_causal":0.08,"bubble":0.4,"comm_wait_s":0.25,"grad_norm":1,"lr":0.002,"peak_bytes":6000000})"
    "\n"
    R"({"step":2,"validation_loss":2.5})"
    "\n";

inline const std::string manifest_text =
    R"({"version":"0.1.0","started":"2026-01-31T12:00:00Z","mpi":"Open MPI <4>","ranks":2,"hosts":["n1","n1"],)"
    R"("device":"cpu","threads_per_rank":1,"measured_peak_flops":3e11,"model":"gpt2 & co","parameters":957184,)"
    R"("corpus":"a.h5","corpus_sha256":"4a15"})";

inline const std::string summary_text =
    R"({"verdict":"INVALID","reason":"the loss did not fall: 2 < 6","clock":"wall","steps":2,"skipped_steps":0,)"
    R"("loss":{"first":6,"last":2,"validation":2.5},"seconds":4,"tokens":150,"tokens_per_s":37.5,)"
    R"("padding":{"share":0.25,"limit":0},"model_flops_per_s":{"value":6e10,"limit":3e11,"limit_is":"FMA rate"},)"
    R"~("mfu":0.2,"mfu_causal":0.16,"mfu_formula":"(6N + 12 L h)","bubble":{"measured":0.35,"limit":0},)~"
    R"("comm_wait_s":0.4,"memory_bytes":{"growth":7000000,"predicted":6500000}})";

// A run that has not ended. It has written only its steps.
class FixtureRun {
public:
    explicit FixtureRun(const std::string& steps = two_steps) { folder_.write("steps.jsonl", steps); }

    void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }
    std::string file(const std::string& name) const { return folder_.file(name); }
    std::string path() const { return folder_.file(""); }

private:
    validation::ScratchFolder folder_;
};

// A run that has written everything.
class FinishedRun : public FixtureRun {
public:
    FinishedRun() {
        write("manifest.json", manifest_text);
        write("summary.json", summary_text);
        write("config.ini", "[run]\nsteps = 2  # <b>\n");
    }
};

}  // namespace trireme::report
