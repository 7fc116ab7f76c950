module crashhook.invalid/crashhook

go 1.19
