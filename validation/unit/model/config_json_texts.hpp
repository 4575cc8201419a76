// Texts of config.json files as transformers writes them: of published models by versions before 5 (`_before`),
// and of tiny models by version 5 (`_since`).
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
