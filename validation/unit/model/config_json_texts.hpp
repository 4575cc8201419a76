// config.json files as transformers writes them: before its fifth version for models that others published,
// and by its fifth for tiny ones.
#pragma once

namespace trireme::model::texts {

extern const char* const gpt2_before;
extern const char* const llama_before;
extern const char* const bert_before;
extern const char* const vit_before;
extern const char* const gpt2_since;
extern const char* const llama_since;
extern const char* const bert_since;
extern const char* const vit_since;

}  // namespace trireme::model::texts
