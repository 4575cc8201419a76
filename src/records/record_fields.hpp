// The fields of every record except Summary, for the writer, the reader and tests. Each call of the visitor
// `visit` names a field of the file and the member with the value of the field. The calls are in the order of
// the file. "loss/first" is the field "first" of the object "loss". visit.count() is for whole numbers,
// visit.constant() for a value that is equal in every file, and visit.json() for a member that holds JSON text.
// visit.keyword() maps one value of the member to a text in the file. visit.visit_one_of() maps a number to the
// first of two fields if the flag is true, otherwise to the second.
#pragma once

#include <concepts>
#include <type_traits>

#include "records/energy_fields.hpp"
#include "trireme/records/run_records.hpp"

namespace trireme::records {

// True if Type is Record, const or not: the writer visits const records.
template <class Type, class Record>
concept As = std::same_as<std::remove_const_t<Type>, Record>;

// A SlowRank with a trace file has no other fields. The field "rank" is a rank's number, "turn" or "random".
void visit_fields(auto& visit, As<config::SlowRank> auto& slow) {
    visit("trace", slow.trace);
    if (!slow.trace.empty()) return;
    visit.keyword("rank", slow.choice, config::SlowChoice::turn, "turn");
    visit.keyword("rank", slow.choice, config::SlowChoice::random, "random");
    if (slow.choice == config::SlowChoice::named) visit("rank", slow.rank);
    visit("factor", slow.factor);
    visit("highest_factor", slow.highest_factor);
    visit("first_step", slow.first_step);
    visit("last_step", slow.last_step);
    visit("every", slow.every);
    visit.keyword("on", slow.kernels, config::SlowKernels::matmuls, "products");
}

void visit_fields(auto& visit, As<Manifest> auto& manifest) {
    std::size_t ranks = manifest.hosts.size();  // only written: a reader ignores the value of the field
    visit("version", manifest.version);
    visit("started", manifest.started);
    visit("mpi", manifest.mpi_library);
    visit("ranks", ranks);
    visit("hosts", manifest.hosts);
    visit("device", manifest.device);
    visit("threads_per_rank", manifest.threads);
    visit.visit_one_of("measured_peak_flops", "peak_flops", manifest.peak.is_measured, manifest.peak.flops);
    visit("peak_is", manifest.peak.description);
    visit("model", manifest.model);
    visit("parameters", manifest.parameters);
    visit("batch", manifest.batch);
    visit("microbatches", manifest.microbatches);
    visit("dtype", manifest.dtype);
    visit("sums", manifest.sums);
    visit("corpus", manifest.corpus);
    visit("corpus_sha256", manifest.corpus_checksum);
    visit("tokens_of_image", manifest.tokens_of_image);
    visit("cores", manifest.cores);
    visit.json("layout", manifest.layout);
    visit("schedule", manifest.schedule);
    visit("plan", manifest.plan);
    visit("resumed_from", manifest.resumed_from);
    visit("gpu_messages", manifest.gpu_messages);
    visit("kernel_times", manifest.kernel_times);
    visit("gpu_driver", manifest.gpu_driver);
    visit("ranks_of_gpu", manifest.ranks_of_gpu);
    visit("slow", manifest.slow);
    visit("memory_limits", manifest.memory_limits);
}

void visit_fields(auto& visit, As<StartLine> auto& start) {
    visit("started", start.started);
    visit("job", start.job);
    visit("restarts", start.restarts);
    visit("behind_step", start.after_step);
}

void visit_fields(auto& visit, As<EvaluationLine> auto& line) {
    visit.count("step", line.step);
    visit("validation_loss", line.loss);
    visit("validation_accuracy", line.accuracy);
    visit("validation_exact_match", line.exact_match);
    visit("validation_f1", line.f1);
}

void visit_fields(auto& visit, As<EarlyEnd> auto& end) {
    visit("step", end.step);
    visit("because", end.reason);
}

}  // namespace trireme::records
